// Package dependencies implements the operations on dependencies, lockfiles, SBOMs and advisories.
package dependencies
