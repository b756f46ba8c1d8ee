package model

// SBOMFormat is a family of bill-of-materials documents.
type SBOMFormat string

// Formats of an export (docs/reference/sbom.md).
const (
	CycloneDX SBOMFormat = "SBOM_FORMAT_CYCLONEDX"
	SPDX      SBOMFormat = "SBOM_FORMAT_SPDX"
	OpenVEX   SBOMFormat = "SBOM_FORMAT_OPENVEX" // no bill of materials, but what is said of one
)

// SBOMTool is the tool that exports name as their writer, and so the source of what is
// read from them (docs/reference/sbom.md). Importing an SBOM of this tool skips its vulnerabilities.
const SBOMTool = "redoubt"

// SBOMNote begins the names of what components of an export say for imports:
// properties in CycloneDX; in SPDX, without it, parts of sourceInfo (docs/reference/sbom.md).
const SBOMNote = "redoubt:"

// Notes of an export. Lockfiles are paths in the repository, in an export of all
// projects behind the project's name and a colon.
const (
	SBOMEcosystem    = SBOMNote + "ecosystem"    // as gomod
	SBOMTransitivity = SBOMNote + "transitivity" // the closest of all lockfiles: direct, transitive, unknown
	// SBOMLockfile is one that holds it, as web/yarn.lock or web/yarn.lock#L12; of a vulnerability, where it was found.
	SBOMLockfile = SBOMNote + "lockfile"
)

// SBOMRequest is what an export was asked for; it is kept with its job.
type SBOMRequest struct {
	Format        SBOMFormat   `json:"format"`
	Version       string       `json:"version"` // as 1.5, 2.3, 0.2.0
	XML           bool         `json:"xml"`     // CycloneDX only
	ProjectID     int64        `json:"project_id,omitempty"`
	Ref           string       `json:"ref,omitempty"`
	ComponentType string       `json:"component_type"` // CycloneDX word, as application
	Supplier      SBOMSupplier `json:"supplier"`
	Visible       ProjectGlobs `json:"visible,omitempty"`
}

// SBOMSupplier is who gives the described software out.
type SBOMSupplier struct {
	Name    string `json:"name,omitempty"`
	URL     string `json:"url,omitempty"`
	Contact struct {
		Email string `json:"email,omitempty"`
		Name  string `json:"name,omitempty"`
		Phone string `json:"phone,omitempty"`
	} `json:"contact"`
}
