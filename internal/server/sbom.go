package server

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
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/sbom"
)

// SBOMJob is the kind of job that makes bills of materials. Its input is a
// model.SBOMRequest.
const SBOMJob = "sbom"

// downloadFor is how long a download address is valid.
const downloadFor = time.Hour

// sbomInput is an export that is asked for.
type sbomInput struct {
	Body    api.CreateSBOMExportRequest
	request model.SBOMRequest
}

const componentPrefix = "SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_"

// Resolve turns the body into what the job is to make.
func (in *sbomInput) Resolve(ctx huma.Context) []error {
	bad := faults(copies(ctx, &in.Body))
	b, r := &in.Body, &in.request
	r.Format, r.Version = formatOf(b.FormatVersion, &bad)
	r.XML = b.SBOMOutputFormat == "SBOM_OUTPUT_FORMAT_CYCLONEDX"
	component := strings.TrimPrefix(cmp.Or(b.MetadataComponentType, "APPLICATION"), componentPrefix)
	r.ComponentType = strings.ToLower(strings.ReplaceAll(component, "_", "-"))
	r.Ref = refFilter(b.Ref)
	r.Visible = callOf(ctx.Context()).caller.Globs()
	if b.RepositoryID != "" {
		id, err := strconv.ParseInt(string(b.RepositoryID), 10, 64)
		if err != nil || id <= 0 {
			bad.add("body.repositoryId", string(b.RepositoryID), "expected the id of a project")
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
	bad.addInvalid(sbom.Check(*r))
	return bad
}

// formatOf reads the format and both spellings of its version.
func formatOf(f *api.FormatVersion, bad *faults) (model.SBOMFormat, string) {
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
			bad.add("body.formatVersion.cyclonedxVersion", f.CycloneDXVersion, "differs from version")
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

// createSBOMExport stores the job and answers at once (semantics §11).
func createSBOMExport(ctx context.Context, c *call, in *sbomInput) (*api.CreateSBOMExportResponse, error) {
	input, err := json.Marshal(in.request)
	if err != nil {
		return nil, fmt.Errorf("encode the export: %w", err)
	}
	return runIdempotent(ctx, c, func(ctx context.Context) (*api.CreateSBOMExportResponse, error) {
		if in.request.ProjectID != 0 {
			if _, err := c.seen(c.tx.Project(ctx, in.request.ProjectID)); err != nil {
				return nil, err
			}
		}
		job, err := c.tx.RequestJob(ctx, model.Job{Kind: SBOMJob, Token: auth.NewTaskToken(), Input: input})
		return &api.CreateSBOMExportResponse{TaskToken: job.Token}, err
	})
}

func getSBOMExport(ctx context.Context, c *call, _ *none) (*api.SBOMExportStatusResponse, error) {
	job, err := c.tx.Job(ctx, c.r.PathValue("taskToken"))
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

// mayRead reports whether the token sees all that the export holds: it was made
// under the same globs, or the token has none.
func mayRead(c *call, job model.Job) bool {
	var made model.SBOMRequest
	if json.Unmarshal(job.Input, &made) != nil {
		return false
	}
	globs := c.caller.Globs()
	return len(globs) == 0 || strings.Join(globs, "\n") == strings.Join(made.Visible, "\n")
}

func downloadURL(c *call, job model.Job) string {
	expires := c.server.Clock().Add(downloadFor).Unix()
	return fmt.Sprintf("%s/api/v1/deployments/%d/sbom/export/%s/download?expires=%d&signature=%s",
		c.base, job.DeploymentID, job.Token, expires,
		signature(c.server.SigningKeys.All()[0], decimal(job.DeploymentID), job.Token, expires))
}

// signature proves that the server made a download address, with one of its keys.
func signature(key []byte, deployment, task string, expires int64) string {
	mac := hmac.New(sha256.New, derived(key, "download"))
	fmt.Fprintf(mac, "%q %q %d", deployment, task, expires)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// signed reports whether the server made a download address, with the key in use
// or one before it.
func signed(s *Server, deployment, task string, in *api.DownloadQuery) bool {
	return slices.ContainsFunc(s.SigningKeys.All(), func(key []byte) bool {
		return hmac.Equal([]byte(in.Signature), []byte(signature(key, deployment, task, in.Expires)))
	})
}

// downloadSBOM serves an export to whoever has its signed address.
func downloadSBOM(ctx context.Context, c *call, in *api.DownloadQuery) (writer, error) {
	deployment, task := c.r.PathValue("deploymentId"), c.r.PathValue("taskToken")
	id, err := c.id("deploymentId")
	if err != nil || !signed(c.server, deployment, task, in) || c.server.Clock().Unix() > in.Expires {
		return nil, newProblem(api.CodePermissionDenied,
			"This address has expired or was altered. Ask for the status of the export again: it has a fresh one.", err)
	}
	c.caller.Deployment.ID = id
	var job model.Job
	err = c.view(ctx, func(ctx context.Context) error {
		job, err = c.tx.Job(ctx, task)
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
	return document{name + extension(job.MediaType), job.MediaType, job.Result}, err
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
