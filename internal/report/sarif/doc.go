// Package sarif reads SARIF 2.1.0 of all tools.
package sarif
