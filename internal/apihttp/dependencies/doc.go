// Package dependencies has the operations on dependencies, lockfiles, SBOMs and advisories.
package dependencies
