// Package bom reads bills of materials in CycloneDX and SPDX, lockfiles, and the vulnerabilities
// and VEX statements in CycloneDX.
package bom
