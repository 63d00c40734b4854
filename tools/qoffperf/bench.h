/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QOFFPERF_BENCH_H
#define QOFFPERF_BENCH_H

int bench_main(int argc, char **argv);

#endif /* QOFFPERF_BENCH_H */
