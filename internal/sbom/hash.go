package sbom

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// algorithm is a hash function with its names in the formats. A name is empty if the format does
// not support it.
type algorithm struct {
	cyclonedx, spdx string
	digits          int // length of the hash, in hexadecimal digits
}

// algorithms maps names in upper case, without - and _, to hash functions.
var algorithms = map[string]algorithm{
	"MD5":        {"MD5", "MD5", 32},
	"SHA1":       {"SHA-1", "SHA1", 40},
	"SHA224":     {"", "SHA224", 56},
	"SHA256":     {"SHA-256", "SHA256", 64},
	"SHA384":     {"SHA-384", "SHA384", 96},
	"SHA512":     {"SHA-512", "SHA512", 128},
	"SHA3256":    {"SHA3-256", "SHA3-256", 64},
	"SHA3384":    {"SHA3-384", "SHA3-384", 96},
	"SHA3512":    {"SHA3-512", "SHA3-512", 128},
	"BLAKE2B256": {"BLAKE2b-256", "BLAKE2b-256", 64},
	"BLAKE2B384": {"BLAKE2b-384", "BLAKE2b-384", 96},
	"BLAKE2B512": {"BLAKE2b-512", "BLAKE2b-512", 128},
	"BLAKE3":     {"BLAKE3", "BLAKE3", 64},
}

// hash is a valid checksum of a package.
type hash struct {
	algorithm
	hex string // lower case, of the algorithm's length
}

var withoutDashes = strings.NewReplacer("-", "", "_", "")

// validHash returns false for unknown algorithms and hashes of the wrong length.
func validHash(h model.Hash) (hash, bool) {
	a, known := algorithms[withoutDashes.Replace(strings.ToUpper(h.Algorithm))]
	if !known || len(h.Hex) != a.digits || !isHex(h.Hex) {
		return hash{}, false
	}
	return hash{algorithm: a, hex: strings.ToLower(h.Hex)}, true
}

func sortHashes(hashes []hash) []hash {
	slices.SortFunc(hashes, func(a, b hash) int {
		return cmp.Or(cmp.Compare(a.spdx, b.spdx), cmp.Compare(a.hex, b.hex))
	})
	return slices.Compact(hashes)
}
