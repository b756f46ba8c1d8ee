package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
)

// maxDocument limits the bytes of an SBOM in one response.
const maxDocument = 4000

func (a *assistant) sbomTools(s *sdk.Server) {
	reader(s, tool{
		"create_sbom", "Create an SBOM",
		"Starts the creation of an SBOM of one project, or of all projects. Returns a task token for get_sbom.",
	}, a.createSBOM)
	reader(s, tool{
		"get_sbom", "Read an SBOM",
		"Returns the progress of an SBOM. Once complete, it returns an address valid for an hour and a part of the text.",
	}, a.getSBOM)
}

// sbomFormats maps the names of formats; nil is the default.
var sbomFormats = map[string]*api.FormatVersion{
	"": nil, "cyclonedx": nil, "spdx": {Format: "SBOM_FORMAT_SPDX"}, "openvex": {Format: "SBOM_FORMAT_OPENVEX"},
}

type createSBOMInput struct {
	ofProject
	Ref    string `json:"ref,omitempty" jsonschema:"branch; the primary branch when absent"`
	Format string `json:"format,omitempty" jsonschema:"cyclonedx, spdx or openvex; cyclonedx when absent"`
}

func (a *assistant) createSBOM(ctx context.Context, in createSBOMInput) (*sdk.CallToolResult, error) {
	format, ok := sbomFormats[strings.ToLower(in.Format)]
	if !ok {
		return nil, fmt.Errorf("invalid format %q: use cyclonedx, spdx or openvex", in.Format)
	}
	r := api.CreateSBOMExportRequest{Ref: in.Ref, FormatVersion: format}
	switch id, err := a.projectID(ctx, in.ofProject); {
	case err != nil:
		return nil, err
	case id != 0:
		r.RepositoryID = api.ID(strconv.FormatInt(id, 10))
	}
	task, err := a.Client.CreateSBOMExport(ctx, a.Deployment, r)
	if err != nil {
		return nil, err
	}
	return answer("The SBOM is being created. Call get_sbom with the task token.", task)
}

type getSBOMInput struct {
	TaskToken string `json:"task_token" jsonschema:"task token returned by create_sbom"`
	Offset    int64  `json:"offset,omitempty" jsonschema:"byte offset at which the text starts; 0 when absent"`
}

func (a *assistant) getSBOM(ctx context.Context, in getSBOMInput) (*sdk.CallToolResult, error) {
	state, err := a.Client.GetSBOMExport(ctx, a.Deployment, in.TaskToken)
	if err != nil {
		return nil, err
	}
	out := struct {
		*api.SBOMExportStatusResponse
		Text string `json:"text,omitempty"`
	}{SBOMExportStatusResponse: state}
	if state.DownloadURL == "" {
		return answer("The SBOM is not complete yet, or failed.", out)
	}
	if in.Offset < 0 {
		return nil, fmt.Errorf("invalid offset %d: offsets start at 0", in.Offset)
	}
	text, more, err := a.document(ctx, state.DownloadURL, in.Offset)
	if err != nil {
		return nil, err
	}
	out.Text = text
	message := fmt.Sprintf("The SBOM is complete. The data contains its text from byte %d to the end.", in.Offset)
	if more {
		message = fmt.Sprintf("The SBOM is complete. The data contains %d bytes of its text from byte %d. For more, use "+
			"offset %d or read downloadUrl.", len(text), in.Offset, in.Offset+int64(len(text)))
	}
	return answer(message, out)
}

// document reads a part of a document. Its address is signed and needs no token. Only the path is
// used: the request is always sent to the configured server.
func (a *assistant) document(ctx context.Context, address string, offset int64) (text string, more bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false, fmt.Errorf("invalid address of the document: %w", err)
	}
	req, err := http.NewRequestWithContext(
		ctx, http.MethodGet, strings.TrimSuffix(a.Client.BaseURL, "/")+u.RequestURI(), nil,
	)
	if err != nil {
		return "", false, err
	}
	client := a.Client.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", false, fmt.Errorf("the document was not found: the server returned %s", resp.Status)
	}
	_, err = io.CopyN(io.Discard, resp.Body, offset)
	if err != nil && err != io.EOF { //nolint:errorlint // CopyN answers io.EOF itself
		return "", false, err
	}
	piece, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return "", false, err
	}
	more = len(piece) > maxDocument
	return strings.ToValidUTF8(string(piece[:min(len(piece), maxDocument)]), ""), more, nil
}
