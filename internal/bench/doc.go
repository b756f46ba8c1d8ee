// Package bench measures the whole service: reports come in over HTTP into a
// SQLite file, pages and decisions go out over HTTP, and beside each figure
// stands its limit, the least that any implementation must do for the same
// answer. What is claimed is the ratio of the two, x-limit, never a time:
// machines differ, and a busy one changes from one second to the next.
//
// Its border: it is tests only and uses the rooms as cmd does; nothing imports
// it. `make bench` runs it and prints a table.
package bench
