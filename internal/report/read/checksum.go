package read

import (
	"regexp"
	"strings"
)

// HashName returns the name of an algorithm as in bills of materials: SHA-256 for sha256.
func HashName(algorithm string) string {
	algorithm = strings.ToLower(algorithm)
	switch {
	case algorithm == "md5":
		return "MD5"
	case strings.HasPrefix(algorithm, "sha"):
		return "SHA-" + strings.TrimPrefix(algorithm[3:], "-")
	}
	return strings.ToUpper(algorithm)
}

var hexadecimal = regexp.MustCompile(`^[0-9a-fA-F]{8,128}$`)

// IsHex reports whether a string is a checksum in hexadecimal, of 4 to 64 bytes.
func IsHex(s string) bool { return hexadecimal.MatchString(s) }
