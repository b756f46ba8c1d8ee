package findings

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/export"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// exportNames contains the display names of the formats.
var exportNames = map[export.Format]string{
	export.CSV: "CSV", export.JSONL: "JSON Lines", export.SARIF: "SARIF", export.XLSX: "Excel (XLSX)",
}

// exports returns the download links for all findings that the page selects.
func (s *search) exports() []component.Choice {
	q := s.params()
	for _, name := range unselective {
		q.Del(name)
	}
	var out []component.Choice
	for _, f := range export.Formats() {
		q.Set("format", string(f))
		out = append(out, component.Choice{Label: exportNames[f], Address: s.base + "/export?" + q.Encode()})
	}
	return out
}

// exportFindings writes all findings that one of the three pages selects.
func exportFindings(t model.IssueType) func(*ui.Request) error {
	return func(req *ui.Request) error {
		f := export.Format(req.HTTP.URL.Query().Get("format"))
		if !slices.Contains(export.Formats(), f) {
			return model.Invalid("format", "must be csv, jsonl, sarif or xlsx")
		}
		s, err := searched(req, ui.ProductOf(t), req.HTTP.URL.Query())
		if err == nil {
			err = s.opened.fault // a file cannot contain this error
		}
		if err != nil {
			return err
		}
		view, err := req.Findings()
		if err != nil {
			return err
		}
		parts := export.Parts(view, f, s.filter)
		h := req.Writer.Header()
		h.Set("Content-Type", f.MediaType())
		h.Set("Content-Disposition", `attachment; filename="`+t.String()+"-"+f.FileName()+`"`)
		if req.HTTP.Method == http.MethodHead {
			return nil
		}
		if err := export.Write(req.HTTP.Context(), req.Writer, f, parts, export.Options{Version: req.Version}); err != nil {
			req.Logger.WarnContext(req.HTTP.Context(), "export aborted", "error", err)
			panic(http.ErrAbortHandler) // aborts the connection, so that the client detects the truncated file
		}
		return nil
	}
}
