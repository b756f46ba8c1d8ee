package api

// CreateSBOMExportRequest starts the export of a software bill of materials. Unknown members are
// rejected, so that a misspelled one does not widen the export.
type CreateSBOMExportRequest struct {
	_                     struct{}       `additionalProperties:"false"`
	DeploymentID          ID             `json:"deploymentId,omitempty" doc:"Same as in the path."`
	FormatVersion         *FormatVersion `json:"formatVersion,omitempty" doc:"Format and version; default: CycloneDX 1.5."`
	MetadataComponentType string         `json:"metadataComponentType,omitempty" default:"SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_APPLICATION" enum:"SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_APPLICATION,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_FRAMEWORK,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_LIBRARY,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_CONTAINER,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_PLATFORM,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_OPERATING_SYSTEM,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_DEVICE,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_DEVICE_DRIVER,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_FIRMWARE,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_FILE,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_MACHINE_LEARNING_MODEL,SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_DATA" doc:"Type of the described component."`
	MetadataSupplier      *Supplier      `json:"metadataSupplier,omitempty" doc:"Supplier of the document."`
	Ref                   string         `json:"ref,omitempty" maxLength:"512" doc:"Ref to export; default: the primary branch." example:"refs/heads/main"`
	RepositoryID          ID             `json:"repositoryId,omitempty" doc:"Project to export; default: the whole deployment." example:"17"`
	SBOMOutputFormat      string         `json:"sbomOutputFormat,omitempty" default:"SBOM_OUTPUT_FORMAT_JSON" enum:"SBOM_OUTPUT_FORMAT_JSON,SBOM_OUTPUT_FORMAT_CYCLONEDX" doc:"JSON, or XML for CycloneDX."`
}

// FormatVersion is the format of a bill of materials.
type FormatVersion struct {
	_                struct{} `additionalProperties:"false"`
	Format           string   `json:"format,omitempty" enum:"SBOM_FORMAT_CYCLONEDX,SBOM_FORMAT_SPDX,SBOM_FORMAT_OPENVEX" default:"SBOM_FORMAT_CYCLONEDX" doc:"Document format. SPDX is an extension, and so is OpenVEX: decisions about the findings, without the components."`
	Version          ID       `json:"version,omitempty" doc:"CycloneDX 1.4, 1.5 or 1.6; SPDX 2.3; OpenVEX 0.2.0." example:"1.5"`
	CycloneDXVersion string   `json:"cyclonedxVersion,omitempty" enum:"SBOM_CYCLONE_DX_VERSION_V1_4,SBOM_CYCLONE_DX_VERSION_V1_5,SBOM_CYCLONE_DX_VERSION_V1_6" doc:"Alternative name of version."`
}

// Supplier is the supplier of the exported software.
type Supplier struct {
	Name    string           `json:"name,omitempty" maxLength:"500" doc:"Name." example:"Acme"`
	URL     string           `json:"url,omitempty" maxLength:"2048" doc:"URL of the website: absolute, http or https." example:"https://acme.example.com"`
	Contact *SupplierContact `json:"contact,omitempty" doc:"Contact."`
}

// SupplierContact is the contact of a supplier.
type SupplierContact struct {
	Email string `json:"email,omitempty" maxLength:"320" doc:"E-mail address." example:"security@acme.example.com"`
	Name  string `json:"name,omitempty" maxLength:"500" doc:"Name."`
	Phone string `json:"phone,omitempty" maxLength:"100" doc:"Phone number."`
}

// CreateSBOMExportResponse identifies the export job.
type CreateSBOMExportResponse struct {
	TaskToken string `json:"taskToken" doc:"Id of the export." example:"task_mfrggzdfmztwq2lk"`
}

// SBOMExportStatusResponse contains the status of an export.
type SBOMExportStatusResponse struct {
	Status       string `json:"status" enum:"SBOM_EXPORT_STATUS_IN_PROGRESS,SBOM_EXPORT_STATUS_COMPLETED,SBOM_EXPORT_STATUS_FAILED" doc:"Status of the export." example:"SBOM_EXPORT_STATUS_COMPLETED"`
	DownloadURL  string `json:"downloadUrl" doc:"Signed URL of the document, valid for an hour, without a header; empty until the export is completed."`
	ErrorMessage string `json:"errorMessage" doc:"Reason of the failure; empty otherwise."`
}

// DownloadQuery is the signature of a download address.
type DownloadQuery struct {
	Expires   int64  `query:"expires" required:"true" doc:"Epoch seconds of the URL's expiry."`
	Signature string `query:"signature" required:"true" minLength:"1" maxLength:"128" doc:"Signature of the URL."`
}
