// Package version compares versions of packages by the rules of their ecosystem and matches them
// against ranges (docs/reference/dependencies.md). Recorded results of the ecosystems' own
// libraries test the orders of Semantic Versioning, Maven, RubyGems and Composer
// (scripts/versions). The other ecosystems use osv-scalibr's semantic package.
package version
