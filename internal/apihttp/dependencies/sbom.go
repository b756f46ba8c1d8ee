package dependencies

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/sbom"
)

// SBOMJob is the kind of jobs that generate SBOMs. Their input is a model.SBOMRequest.
const SBOMJob = "sbom"

// DownloadFor is the validity of a download address.
const DownloadFor = time.Hour

// sbomInput is a request for an export.
type sbomInput struct {
	Body    api.CreateSBOMExportRequest
	request model.SBOMRequest
}

const componentPrefix = "SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_"

// Resolve converts the body to the input of the job.
func (in *sbomInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	b, r := &in.Body, &in.request
	r.Format, r.Version = formatOf(b.FormatVersion, &bad)
	r.XML = b.SBOMOutputFormat == "SBOM_OUTPUT_FORMAT_CYCLONEDX"
	component := strings.TrimPrefix(cmp.Or(b.MetadataComponentType, "APPLICATION"), componentPrefix)
	r.ComponentType = strings.ToLower(strings.ReplaceAll(component, "_", "-"))
	r.Ref = core.RefFilter(b.Ref)
	r.Visible = core.CallOf(ctx.Context()).Caller.Globs()
	if b.RepositoryID != "" {
		id, err := strconv.ParseInt(string(b.RepositoryID), 10, 64)
		if err != nil || id <= 0 {
			bad.Add("body.repositoryId", string(b.RepositoryID), "expected the id of a project")
		}
		r.ProjectID = id
	}
	if s := b.MetadataSupplier; s != nil {
		r.Supplier.Name, r.Supplier.URL = s.Name, s.URL
		if s.Contact != nil {
			to := &r.Supplier.Contact
			to.Email, to.Name, to.Phone = s.Contact.Email, s.Contact.Name, s.Contact.Phone
		}
	}
	bad.AddInvalid(sbom.Check(*r))
	return bad
}

// formatOf parses the format and both spellings of its version.
func formatOf(f *api.FormatVersion, bad *core.Faults) (model.SBOMFormat, string) {
	if f == nil {
		return model.CycloneDX, "1.5"
	}
	format, version := model.SBOMFormat(f.Format), string(f.Version)
	if format == "" {
		format = model.CycloneDX
	}
	if other := strings.ReplaceAll(strings.TrimPrefix(f.CycloneDXVersion, "SBOM_CYCLONE_DX_VERSION_V"),
		"_", "."); other != "" {
		if version != "" && version != other {
			bad.Add("body.formatVersion.cyclonedxVersion", f.CycloneDXVersion, "differs from version")
		}
		version = other
	}
	switch {
	case version != "":
		return format, version
	case format == model.SPDX:
		return format, "2.3"
	case format == model.OpenVEX:
		return format, "0.2.0"
	}
	return format, "1.5"
}

// createSBOMExport stores the job and returns without waiting for it (docs/reference/sbom.md).
func createSBOMExport(ctx context.Context, c *core.Call, in *sbomInput) (*api.CreateSBOMExportResponse, error) {
	input, err := json.Marshal(in.request)
	if err != nil {
		return nil, fmt.Errorf("encode the export: %w", err)
	}
	return core.RunIdempotent(ctx, c, func(ctx context.Context) (*api.CreateSBOMExportResponse, error) {
		if in.request.ProjectID != 0 {
			if _, err := c.VisibleProject(c.Tx.Project(ctx, in.request.ProjectID)); err != nil {
				return nil, err
			}
		}
		job, err := c.Tx.RequestJob(ctx, model.Job{Kind: SBOMJob, Token: auth.NewTaskToken(), Input: input})
		return &api.CreateSBOMExportResponse{TaskToken: job.Token}, err
	})
}

func getSBOMExport(ctx context.Context, c *core.Call, _ *core.None) (*api.SBOMExportStatusResponse, error) {
	job, err := c.Tx.Job(ctx, c.R.PathValue("taskToken"))
	if err != nil {
		return nil, err
	}
	if job.Kind != SBOMJob || !mayRead(c, job) {
		return nil, model.ErrNotFound
	}
	switch job.State {
	case model.JobDone:
		return &api.SBOMExportStatusResponse{Status: "SBOM_EXPORT_STATUS_COMPLETED", DownloadURL: downloadURL(c, job)}, nil
	case model.JobFailed:
		return &api.SBOMExportStatusResponse{Status: "SBOM_EXPORT_STATUS_FAILED", ErrorMessage: job.Error}, nil
	}
	return &api.SBOMExportStatusResponse{Status: "SBOM_EXPORT_STATUS_IN_PROGRESS"}, nil
}

// mayRead reports whether everything in the export is visible to the token. That is so if the
// export was created under the same globs, or the token has none.
func mayRead(c *core.Call, job model.Job) bool {
	var made model.SBOMRequest
	if json.Unmarshal(job.Input, &made) != nil {
		return false
	}
	globs := c.Caller.Globs()
	return len(globs) == 0 || strings.Join(globs, "\n") == strings.Join(made.Visible, "\n")
}

func downloadURL(c *core.Call, job model.Job) string {
	expires := c.Server.Clock().Add(DownloadFor).Unix()
	return fmt.Sprintf("%s/api/v1/deployments/%d/sbom/export/%s/download?expires=%d&signature=%s",
		c.Base, job.DeploymentID, job.Token, expires,
		signature(c.Server.SigningKeys.All()[0], core.Decimal(job.DeploymentID), job.Token, expires))
}

// signature returns the signature of a download address.
func signature(key []byte, deployment, task string, expires int64) string {
	mac := hmac.New(sha256.New, httpx.DeriveKey(key, "download"))
	fmt.Fprintf(mac, "%q %q %d", deployment, task, expires)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// signed reports whether the server signed a download address, with the current key or a previous
// one.
func signed(s *core.Server, deployment, task string, in *api.DownloadQuery) bool {
	return slices.ContainsFunc(s.SigningKeys.All(), func(key []byte) bool {
		return hmac.Equal([]byte(in.Signature), []byte(signature(key, deployment, task, in.Expires)))
	})
}

// downloadSBOM serves an export to clients with its signed address.
func downloadSBOM(ctx context.Context, c *core.Call, in *api.DownloadQuery) (core.Writer, error) {
	deployment, task := c.R.PathValue("deploymentId"), c.R.PathValue("taskToken")
	id, err := c.ID("deploymentId")
	if err != nil || !signed(c.Server, deployment, task, in) || c.Server.Clock().Unix() > in.Expires {
		return nil, core.NewProblem(api.CodePermissionDenied,
			"This address has expired or was altered. Get the status of the export again for a new one.", err)
	}
	c.Caller.Deployment.ID = id
	var job model.Job
	err = c.View(ctx, func(ctx context.Context) error {
		job, err = c.Tx.Job(ctx, task)
		return err
	})
	if err == nil && job.State != model.JobDone {
		err = model.ErrNotFound
	}
	name := "sbom"
	var made model.SBOMRequest
	if json.Unmarshal(job.Input, &made) == nil && made.Format == model.OpenVEX {
		name = "openvex"
	}
	return core.Document{
		Name: name + extension(job.MediaType), MediaType: job.MediaType, Content: job.Result,
	}, err
}

func extension(mediaType string) string {
	if strings.Contains(mediaType, "xml") {
		return ".xml"
	}
	return ".json"
}

// documentMediaTypes lists the media types of downloads.
var documentMediaTypes = []string{
	"application/vnd.cyclonedx+json", "application/vnd.cyclonedx+xml", "application/spdx+json", "application/json",
}
