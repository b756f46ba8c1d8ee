package redoubt

import "time"

// SBOMFormat is a family of bill-of-materials documents.
type SBOMFormat string

// Formats of an export (semantics §11).
const (
	CycloneDX SBOMFormat = "SBOM_FORMAT_CYCLONEDX"
	SPDX      SBOMFormat = "SBOM_FORMAT_SPDX"
	OpenVEX   SBOMFormat = "SBOM_FORMAT_OPENVEX" // no bill of materials, but what is said of one
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

// Job is durable work that outlives the request and the process (semantics §11).
type Job struct {
	ID           int64
	DeploymentID int64
	Kind         string // as sbom
	Token        string // names the job to its owner, unguessable
	State        JobState
	Attempt      int
	Input        []byte // JSON
	Result       []byte
	MediaType    string
	Error        string // for people; set when failed
	CreatedAt    time.Time
	FinishedAt   time.Time // zero before
}

// JobState is how far a job came.
type JobState uint8

// States of a job.
const (
	JobQueued JobState = iota + 1
	JobRunning
	JobDone
	JobFailed
)
