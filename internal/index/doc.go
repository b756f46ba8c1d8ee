// Package index answers every list, count, filter, dedup and bulk selection of
// findings from memory. It is derived: the store is the truth, and the index is
// rebuilt from it at any time.
//
// An Index has a state per deployment: dictionaries (projects, rules, lineages
// and words get small numbers) and a partition per issue type. A partition
// keeps packed rows in the order of lists, for each value of each field a
// bitmap of the ordinals that have it, and columns of what is counted. What is
// said of a project or a rule is
// looked up when a filter is read, so that changing it touches no row. A page
// is copied out under a read lock and written without one, from JSON that was
// encoded when it was stored.
//
//	Source ─ Feed ─► state.apply ─► partition ─► Page ─► io.Writer
//	                                 rows, bitmaps, columns, bodies
//
// What was built is written to a file now and then, a checkpoint, for the next
// start to go on from; see Checkpoints. Package checkpoint has the form of these
// files, package lexicon the dictionaries of texts.
//
// It holds no SQL and no HTTP; filters exist here and nowhere else.
package index
