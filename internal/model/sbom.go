package model

// SBOMFormat is the format of a bill of materials.
type SBOMFormat string

// Formats of an export (docs/reference/sbom.md).
const (
	CycloneDX SBOMFormat = "SBOM_FORMAT_CYCLONEDX"
	SPDX      SBOMFormat = "SBOM_FORMAT_SPDX"
	OpenVEX   SBOMFormat = "SBOM_FORMAT_OPENVEX" // statements about a bill of materials
)

// SBOMTool is the tool name in exports, and the source of their imports. Importing an SBOM of this
// tool ignores its vulnerabilities (docs/reference/sbom.md).
const SBOMTool = "redoubt"

// SBOMNote is the prefix of names that exports add to components for imports: of properties in
// CycloneDX. In SPDX, the names are in sourceInfo without the prefix (docs/reference/sbom.md).
const SBOMNote = "redoubt:"

// Notes of an export. Lockfiles are paths in the repository. An export of all projects prefixes
// them with the project name and a colon.
const (
	SBOMEcosystem    = SBOMNote + "ecosystem"    // such as gomod
	SBOMTransitivity = SBOMNote + "transitivity" // closest of all lockfiles: direct, transitive or unknown
	// SBOMLockfile is a lockfile with the package, such as web/yarn.lock or web/yarn.lock#L12. For
	// a vulnerability, it is where the vulnerability was found.
	SBOMLockfile = SBOMNote + "lockfile"
)

// SBOMRequest contains the parameters of an export. It is stored with the export's job.
type SBOMRequest struct {
	Format        SBOMFormat   `json:"format"`
	Version       string       `json:"version"` // such as 1.5, 2.3 or 0.2.0
	XML           bool         `json:"xml"`     // CycloneDX only
	ProjectID     int64        `json:"project_id,omitempty"`
	Ref           string       `json:"ref,omitempty"`
	ComponentType string       `json:"component_type"` // CycloneDX name, such as application
	Supplier      SBOMSupplier `json:"supplier"`
	Visible       ProjectGlobs `json:"visible,omitempty"`
}

// SBOMSupplier is the supplier of the described software.
type SBOMSupplier struct {
	Name    string `json:"name,omitempty"`
	URL     string `json:"url,omitempty"`
	Contact struct {
		Email string `json:"email,omitempty"`
		Name  string `json:"name,omitempty"`
		Phone string `json:"phone,omitempty"`
	} `json:"contact"`
}
