package model

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// FormulaGroup is a match_based_id without the ordinal behind it: rule, path and
// pattern with what its metavariables stand for. The ordinal says only the order
// in the file, and changes when a line is put above (semantics §4).
func FormulaGroup(matchBasedID string) string {
	i := strings.LastIndexByte(matchBasedID, '_')
	if i < 0 || i == len(matchBasedID)-1 || strings.Trim(matchBasedID[i+1:], "0123456789") != "" {
		return matchBasedID
	}
	return matchBasedID[:i]
}

// MatchKey is what the matches of one code in one formula group of a file share;
// their numbers, from 0, tell them apart.
func MatchKey(group string, code Digest) Digest {
	var room [256]byte
	text := appendText(room[:0], "match 2")
	text = append(appendText(text, group), code[:]...)
	sum := sha256.Sum256(text)
	return Digest(sum[:len(Digest{})])
}

// NumberedIdentity is the identity of the n-th, from 0, of what shares a key.
func NumberedIdentity(kind IdentityKind, key Digest, n int64) Identity {
	var room [64]byte
	text := append(appendText(room[:0], "ordinal"), key[:]...)
	sum := sha256.Sum256(binary.AppendVarint(text, n))
	return Identity{Kind: kind, Hash: Digest(sum[:len(Digest{})])}
}

// appendText appends a text after its length, so that no two lists of texts
// give the same bytes.
func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}
