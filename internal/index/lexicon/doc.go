// Package lexicon assigns numbers to the texts of findings (words, paths, messages) and searches
// them. Each text is stored once, and rows of the index refer to its number.
package lexicon
