# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
