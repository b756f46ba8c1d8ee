// Package sarif reads SARIF 2.1.0 of any tool.
package sarif
