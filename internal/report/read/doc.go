// Package read has what the readers of all formats need of hostile input: strings
// cut and cleaned, members of JSON that are of another type than expected, and
// faults with their place in the file.
//
// It knows no format and none of the nouns: report and its lockfile package stand
// on it. Opening, inflating and bounding a file is report's.
package read
