package api

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// path joins and escapes the parts of a path below /deployments.
func path(parts ...string) string {
	var out strings.Builder
	out.WriteString("/deployments")
	for _, p := range parts {
		out.WriteString("/" + url.PathEscape(p))
	}
	return out.String()
}

// answer performs a call and returns the decoded response.
func answer[T any](ctx context.Context, c *Client, k call, options ...Option) (*T, error) {
	for _, add := range options {
		add(&k)
	}
	out := new(T)
	if err := c.do(ctx, k, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Ping checks that the server is reachable. It needs no token.
func (c *Client) Ping(ctx context.Context) error {
	_, err := answer[PingResponse](ctx, c, call{method: http.MethodGet, path: "/ping"})
	return err
}

// PingAgent checks that the API for scanners is reachable.
func (c *Client) PingAgent(ctx context.Context) error {
	_, err := answer[PingResponse](ctx, c, call{method: http.MethodGet, base: "/api/agent", path: "/ping"})
	return err
}

// CheckHealth checks that the server is running. It needs no token.
func (c *Client) CheckHealth(ctx context.Context) (*HealthResponse, error) {
	return answer[HealthResponse](ctx, c, call{method: http.MethodGet, base: "/api", path: "/health-check"})
}

// ListDeploymentsV2 is ListDeployments at the v2 address.
func (c *Client) ListDeploymentsV2(ctx context.Context) (*ListDeploymentsResponse, error) {
	return answer[ListDeploymentsResponse](ctx, c, call{method: http.MethodGet, base: "/api/v2", path: "/deployments"})
}

// GetDeployment returns the deployment of the token.
func (c *Client) GetDeployment(ctx context.Context, deployment string) (*DeploymentResponse, error) {
	return answer[DeploymentResponse](ctx, c, call{method: http.MethodGet, path: path(deployment)})
}

// SearchIssues returns findings in the format of the hosted service's assistants.
func (c *Client) SearchIssues(
	ctx context.Context, deployment string, r SearchIssuesRequest,
) (*SearchIssuesResponse, error) {
	return answer[SearchIssuesResponse](ctx, c, call{
		reads:  true,
		method: http.MethodPost,
		base:   "/api/agent",
		path:   path(deployment, "issues", "v2"),
		body:   r,
	})
}

// ListVulns returns a page of supply-chain findings in the hosted service's older format.
func (c *Client) ListVulns(ctx context.Context, deployment string, r ListVulnsRequest) (*ListVulnsResponse, error) {
	return answer[ListVulnsResponse](ctx, c, call{
		reads:  true,
		method: http.MethodPost,
		path:   path(deployment, "ssc-vulns"),
		body:   r,
	})
}

// Me returns the token with its user, deployment and permissions.
func (c *Client) Me(ctx context.Context) (*MeResponse, error) {
	return answer[MeResponse](ctx, c, call{method: http.MethodGet, path: "/me"})
}

// ListDeployments returns the token's deployment.
func (c *Client) ListDeployments(ctx context.Context) (*ListDeploymentsResponse, error) {
	return answer[ListDeploymentsResponse](ctx, c, call{method: http.MethodGet, path: "/deployments"})
}

// ListFindings returns a page of findings.
func (c *Client) ListFindings(ctx context.Context, deployment string, q FindingsQuery) (*ListFindingsResponse, error) {
	return answer[ListFindingsResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "findings"),
		query:  values(q),
	})
}

// GetFinding returns one finding.
func (c *Client) GetFinding(ctx context.Context, deployment string, id int64) (*FindingResponse, error) {
	return answer[FindingResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "findings", strconv.FormatInt(id, 10))},
	)
}

// GetEvidence returns the evidence for judging a finding.
func (c *Client) GetEvidence(ctx context.Context, deployment string, id int64) (*EvidenceResponse, error) {
	return answer[EvidenceResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "findings", strconv.FormatInt(id, 10), "evidence")},
	)
}

// AnnotateFinding changes the annotations of a finding and returns the finding.
func (c *Client) AnnotateFinding(
	ctx context.Context, deployment string, id int64, r AnnotateRequest, options ...Option,
) (*FindingResponse, error) {
	return answer[FindingResponse](ctx, c, call{
		method: http.MethodPatch,
		path:   path(deployment, "findings", strconv.FormatInt(id, 10)),
		body:   r,
	}, options...)
}

// TriageFindings changes the triage state of many findings.
func (c *Client) TriageFindings(
	ctx context.Context, deployment string, r TriageRequest, options ...Option,
) (*TriageResponse, error) {
	return answer[TriageResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "triage"),
		body:   r,
	}, options...)
}

// ListSecrets returns a page of secrets.
func (c *Client) ListSecrets(ctx context.Context, deployment string, q SecretsQuery) (*ListSecretsResponse, error) {
	return answer[ListSecretsResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "secrets"),
		query:  values(q),
	})
}

// ListProjects returns a page of projects.
func (c *Client) ListProjects(ctx context.Context, deployment string, q ProjectsQuery) (*ListProjectsResponse, error) {
	return answer[ListProjectsResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "projects"),
		query:  values(q),
	})
}

// CreateProject creates a project.
func (c *Client) CreateProject(
	ctx context.Context, deployment string, r CreateProjectRequest, options ...Option,
) (*ProjectResponse, error) {
	return answer[ProjectResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "projects"),
		body:   r,
	}, options...)
}

// GetProject returns one project.
func (c *Client) GetProject(ctx context.Context, deployment, name string) (*ProjectResponse, error) {
	return answer[ProjectResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "projects", name)})
}

// UpdateProject changes a project.
func (c *Client) UpdateProject(
	ctx context.Context, deployment, name string, r UpdateProjectRequest, options ...Option,
) (*ProjectResponse, error) {
	return answer[ProjectResponse](ctx, c, call{
		method: http.MethodPatch,
		path:   path(deployment, "projects", name),
		body:   r,
	}, options...)
}

// DeleteProject deletes a project and all its data.
func (c *Client) DeleteProject(
	ctx context.Context, deployment, name string, options ...Option,
) (*DeleteProjectResponse, error) {
	return answer[DeleteProjectResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   path(deployment, "projects", name),
	}, options...)
}

// RenameProject renames a project. The old name remains valid.
func (c *Client) RenameProject(
	ctx context.Context, deployment string, r RenameProjectRequest, options ...Option,
) (*ProjectResponse, error) {
	return answer[ProjectResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "project-renames"),
		body:   r,
	}, options...)
}

// MergeProject merges one project into another.
func (c *Client) MergeProject(
	ctx context.Context, deployment string, r MergeProjectRequest, options ...Option,
) (*MergeProjectResponse, error) {
	return answer[MergeProjectResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "project-merges"),
		body:   r,
	}, options...)
}

// DeleteRef deletes a ref of a project.
func (c *Client) DeleteRef(
	ctx context.Context, deployment string, q DeleteRefQuery, options ...Option,
) (*DeleteRefResponse, error) {
	return answer[DeleteRefResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   path(deployment, "refs"),
		query:  values(q),
	}, options...)
}

// AddProjectTags adds tags to a project.
func (c *Client) AddProjectTags(
	ctx context.Context, deployment, name string, r ProjectTagsRequest, options ...Option,
) (*ProjectResponse, error) {
	return answer[ProjectResponse](ctx, c, call{
		method: http.MethodPut,
		path:   path(deployment, "projects", name, "tags"),
		body:   r,
	}, options...)
}

// RemoveProjectTags removes tags from a project. Tags that the project does not have are ignored.
func (c *Client) RemoveProjectTags(
	ctx context.Context, deployment, name string, tags []string, options ...Option,
) (*ProjectResponse, error) {
	return answer[ProjectResponse](ctx, c, call{
		method: http.MethodDelete, path: path(deployment, "projects", name, "tags"),
		query: values(RemoveProjectTagsQuery{Tags: tags}),
	}, options...)
}

// ToggleManagedScan switches scheduled scans on or off.
func (c *Client) ToggleManagedScan(
	ctx context.Context, deployment, name string, r ToggleManagedScanRequest, options ...Option,
) (*ProjectResponse, error) {
	return answer[ProjectResponse](ctx, c, call{
		method: http.MethodPatch,
		path:   path(deployment, "projects", name, "managed-scan"),
		body:   r,
	}, options...)
}

// ListDependencies returns a page of dependencies.
func (c *Client) ListDependencies(
	ctx context.Context, deployment string, r ListDependenciesRequest,
) (*ListDependenciesResponse, error) {
	return answer[ListDependenciesResponse](ctx, c, call{
		reads:  true,
		method: http.MethodPost,
		path:   path(deployment, "dependencies"),
		body:   r,
	})
}

// ListDependencyRepositories returns a page of the projects that have dependencies.
func (c *Client) ListDependencyRepositories(
	ctx context.Context, deployment string, r ListDependencyRepositoriesRequest,
) (*ListDependencyRepositoriesResponse, error) {
	return answer[ListDependencyRepositoriesResponse](ctx, c, call{
		reads:  true,
		method: http.MethodPost,
		path:   path(deployment, "dependencies", "repositories"),
		body:   r,
	})
}

// ListLockfiles returns a page of a project's lockfiles.
func (c *Client) ListLockfiles(
	ctx context.Context, deployment, repositoryID string, r ListLockfilesRequest,
) (*ListLockfilesResponse, error) {
	return answer[ListLockfilesResponse](ctx, c, call{
		reads:  true,
		method: http.MethodPost,
		path:   path(deployment, "dependencies", "repositories", repositoryID, "lockfiles"),
		body:   r,
	})
}

// CreateSBOMExport starts an SBOM export.
func (c *Client) CreateSBOMExport(
	ctx context.Context, deployment string, r CreateSBOMExportRequest, options ...Option,
) (*CreateSBOMExportResponse, error) {
	return answer[CreateSBOMExportResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "sbom", "export"),
		body:   r,
	}, options...)
}

// GetSBOMExport returns the status of an export.
func (c *Client) GetSBOMExport(ctx context.Context, deployment, taskToken string) (*SBOMExportStatusResponse, error) {
	return answer[SBOMExportStatusResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "sbom", "export", taskToken)},
	)
}

// DownloadSBOM downloads a document from the address that GetSBOMExport returned, and its media
// type. The address needs no token.
func (c *Client) DownloadSBOM(ctx context.Context, downloadURL string) (document []byte, mediaType string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, downloadURL, nil)
	if err != nil {
		return nil, "", err
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, "", readProblem(resp)
	}
	defer resp.Body.Close()
	document, err = io.ReadAll(resp.Body)
	return document, resp.Header.Get("Content-Type"), err
}

// SearchScans returns a page of scans.
func (c *Client) SearchScans(
	ctx context.Context, deployment string, r SearchScansRequest,
) (*SearchScansResponse, error) {
	return answer[SearchScansResponse](ctx, c, call{
		reads:  true,
		method: http.MethodPost,
		path:   path(deployment, "scans", "search"),
		body:   r,
	})
}

// GetScan returns one scan.
func (c *Client) GetScan(ctx context.Context, deployment string, scanID int64) (*ScanResponse, error) {
	return answer[ScanResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "scan", strconv.FormatInt(scanID, 10))},
	)
}

// ImportReport uploads one report as a stream. It is sent once, without retries.
func (c *Client) ImportReport(
	ctx context.Context, deployment string, q ImportQuery, report io.Reader, options ...Option,
) (*ImportResponse, error) {
	return answer[ImportResponse](ctx, c, call{
		method: http.MethodPost, path: path(deployment, "imports"),
		query: values(q), raw: report, media: "application/octet-stream",
	}, options...)
}

// File is a report or a lockfile to upload. Its name is its path in the repository.
type File struct {
	Name string
	Data []byte
	// Unread is the reason why a lockfile is not sent, such as its size. The server retains the
	// lockfile's previous contents, and Data is not sent. It is empty for all other files.
	Unread string
}

// ImportReports uploads several files at once. The response lists lockfiles that the server could
// not read. Any other unreadable file is an error, and so is an upload without a readable file;
// nothing is imported then. The upload is retried if the connection fails or the server is busy.
func (c *Client) ImportReports(
	ctx context.Context, deployment string, q ImportQuery, files []File, options ...Option,
) (*ImportResponse, error) {
	body, media, err := packed(files)
	if err != nil {
		return nil, err
	}
	return answer[ImportResponse](ctx, c, call{
		method: http.MethodPost, path: path(deployment, "imports"), query: values(q), packed: body, media: media,
	}, options...)
}

// packed returns a multipart form with the files, and its media type.
func packed(files []File) ([]byte, string, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range files {
		field, text := "file", f.Data
		if f.Unread != "" {
			field, text = "unread", []byte(f.Unread)
		}
		part, err := form.CreateFormFile(field, f.Name)
		if err != nil {
			return nil, "", err
		}
		if _, err := part.Write(text); err != nil {
			return nil, "", err
		}
	}
	err := form.Close()
	return body.Bytes(), form.FormDataContentType(), err
}

// ListSnippets returns the locations in a scan for which code may be uploaded.
func (c *Client) ListSnippets(ctx context.Context, deployment string, scanID int64) (*ListSnippetsResponse, error) {
	return answer[ListSnippetsResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "scans", strconv.FormatInt(scanID, 10), "snippets")},
	)
}

// PutSnippets uploads code around findings of a scan.
func (c *Client) PutSnippets(
	ctx context.Context, deployment string, scanID int64, r PutSnippetsRequest, options ...Option,
) (*PutSnippetsResponse, error) {
	return answer[PutSnippetsResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "scans", strconv.FormatInt(scanID, 10), "snippets"),
		body:   r,
	}, options...)
}

// GetAdvisory returns a vulnerability by any of its ids.
func (c *Client) GetAdvisory(ctx context.Context, deployment, id string) (*AdvisoryResponse, error) {
	return answer[AdvisoryResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "advisories", id)})
}

// AdvisoryImpact returns a page of the findings of a vulnerability.
func (c *Client) AdvisoryImpact(ctx context.Context, deployment, id string, q ImpactQuery) (*ImpactResponse, error) {
	return answer[ImpactResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "advisories", id, "impact"),
		query:  values(q),
	})
}

// ListExceptions returns a page of the exceptions that are visible to the token.
func (c *Client) ListExceptions(
	ctx context.Context, deployment string, q ExceptionsQuery,
) (*ListExceptionsResponse, error) {
	return answer[ListExceptionsResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "exceptions"),
		query:  values(q),
	})
}

// GetException returns one exception.
func (c *Client) GetException(
	ctx context.Context, deployment string, id int64, q ExceptionQuery,
) (*ExceptionResponse, error) {
	return answer[ExceptionResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "exceptions", strconv.FormatInt(id, 10)),
		query:  values(q),
	})
}

// CreateException creates an exception for a rule or a vulnerability.
func (c *Client) CreateException(
	ctx context.Context, deployment string, r CreateExceptionRequest, options ...Option,
) (*ExceptionChangeResponse, error) {
	return answer[ExceptionChangeResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "exceptions"),
		body:   r,
	}, options...)
}

// DeleteException ends an exception and reopens the findings that it ignored.
func (c *Client) DeleteException(
	ctx context.Context, deployment string, id int64, q DeleteExceptionQuery, options ...Option,
) (*ExceptionChangeResponse, error) {
	return answer[ExceptionChangeResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   path(deployment, "exceptions", strconv.FormatInt(id, 10)),
		query:  values(q),
	}, options...)
}

// CreateTickets creates tickets for findings in an issue tracker.
func (c *Client) CreateTickets(
	ctx context.Context, deployment string, r CreateTicketsRequest, options ...Option,
) (*CreateTicketsResponse, error) {
	return answer[CreateTicketsResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "tickets"),
		body:   r,
	}, options...)
}

// LinkTicket links findings to an existing ticket.
func (c *Client) LinkTicket(
	ctx context.Context, deployment string, r LinkTicketRequest, options ...Option,
) (*LinkTicketResponse, error) {
	return answer[LinkTicketResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "tickets", "link"),
		body:   r,
	}, options...)
}

// UnlinkTicket removes the ticket links of findings.
func (c *Client) UnlinkTicket(
	ctx context.Context, deployment string, r UnlinkTicketRequest, options ...Option,
) (*UnlinkTicketResponse, error) {
	return answer[UnlinkTicketResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "tickets", "unlink"),
		body:   r,
	}, options...)
}

// DeleteTicket deletes a ticket and its links. The issue in the tracker remains.
func (c *Client) DeleteTicket(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*DeleteTicketResponse, error) {
	return answer[DeleteTicketResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   path(deployment, "ticketing", "v2", "tickets", strconv.FormatInt(id, 10)),
	}, options...)
}

// GetTicketSettings returns the settings for creating tickets.
func (c *Client) GetTicketSettings(ctx context.Context, deployment string) (*TicketSettingsResponse, error) {
	return answer[TicketSettingsResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "ticket-settings")})
}

// SetTicketSettings replaces the settings for creating tickets.
func (c *Client) SetTicketSettings(
	ctx context.Context, deployment string, r SetTicketSettingsRequest, options ...Option,
) (*TicketSettingsResponse, error) {
	return answer[TicketSettingsResponse](ctx, c, call{
		method: http.MethodPut,
		path:   path(deployment, "ticket-settings"),
		body:   r,
	}, options...)
}

// ListTickets returns a page of the tickets that are visible to the token.
func (c *Client) ListTickets(ctx context.Context, deployment string, q TicketsQuery) (*ListTicketsResponse, error) {
	return answer[ListTicketsResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "tickets"),
		query:  values(q),
	})
}

// GetTicket returns one ticket.
func (c *Client) GetTicket(ctx context.Context, deployment string, id int64) (*TicketResponse, error) {
	return answer[TicketResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "tickets", strconv.FormatInt(id, 10))},
	)
}
