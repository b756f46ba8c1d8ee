package findings

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/export"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// exportNames are what people call the formats.
var exportNames = map[export.Format]string{
	export.CSV: "CSV", export.JSONL: "JSON Lines", export.SARIF: "SARIF", export.XLSX: "Excel (XLSX)",
}

// exports are the addresses of all findings that the page selects, as files.
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

// exportFindings sends all findings that one of the three pages selects.
func exportFindings(t model.IssueType) func(*ui.Request) error {
	return func(req *ui.Request) error {
		f := export.Format(req.HTTP.URL.Query().Get("format"))
		if !slices.Contains(export.Formats(), f) {
			return model.Invalid("format", "is one of csv, jsonl, sarif, xlsx")
		}
		s, err := searched(req, ui.ProductOf(t), req.HTTP.URL.Query())
		if err == nil {
			err = s.opened.fault // which a file could not tell
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
			req.Logger.WarnContext(req.HTTP.Context(), "an export broke off", "error", err)
			panic(http.ErrAbortHandler) // which is how whoever reads it learns that it is not whole
		}
		return nil
	}
}
