// Package version orders the versions of packages as their ecosystem does and
// answers whether a version lies within bounds (docs/reference/dependencies.md).
//
// It is pure: names and versions in, answers out. It knows no dependency, no
// filter and no storage. The orders of semantic versions, Maven, RubyGems
// and Composer are written here, held to the ecosystems' own libraries by the answers that
// scripts/versions keeps in testdata. The others are those of osv-scalibr's
// semantic package. Orders sort anything, garbage too; what is not a version of
// its ecosystem is therefore told apart here first.
package version
