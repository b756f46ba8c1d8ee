// Package version compares versions of packages by the rules of their ecosystem and matches them
// against ranges (docs/reference/dependencies.md). It implements Semantic Versioning, Maven,
// RubyGems and Composer itself, tested against recorded results of the ecosystems' own libraries
// (scripts/versions); the other ecosystems use osv-scalibr's semantic package. It has no dependency
// on the other packages of Redoubt.
package version
