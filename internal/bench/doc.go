// Package bench measures the whole service: uploads, pages and decisions over HTTP, with a SQLite
// file. Each figure has a baseline, the least work that any implementation needs for the same
// result. Results are claimed as ratios (x-limit), because absolute times vary between machines and
// moments.
//
// `make bench` runs the benchmarks and prints a table. No package imports this one.
package bench
