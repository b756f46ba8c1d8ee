package web

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/export"
	"github.com/redoubt/redoubt/internal/model"
)

// exportNames are what people call the formats.
var exportNames = map[export.Format]string{
	export.CSV: "CSV", export.JSONL: "JSON Lines", export.SARIF: "SARIF", export.XLSX: "Excel (XLSX)",
}

// exports are the addresses of all findings that the page selects, as files.
func (s *search) exports() []choice {
	q := s.params()
	for _, name := range unselective {
		q.Del(name)
	}
	var out []choice
	for _, f := range export.Formats() {
		q.Set("format", string(f))
		out = append(out, choice{Label: exportNames[f], Address: s.base + "/export?" + q.Encode()})
	}
	return out
}

// exportFindings sends all findings that one of the three pages selects.
func exportFindings(t model.IssueType) func(*request) error {
	return func(req *request) error {
		f := export.Format(req.r.URL.Query().Get("format"))
		if !slices.Contains(export.Formats(), f) {
			return model.Invalid("format", "is one of csv, jsonl, sarif, xlsx")
		}
		s, err := searched(req, productOf(t), req.r.URL.Query())
		if err == nil {
			err = s.opened.fault // which a file could not tell
		}
		if err != nil {
			return err
		}
		view, err := req.findings()
		if err != nil {
			return err
		}
		parts := export.Parts(view, f, s.filter)
		h := req.w.Header()
		h.Set("Content-Type", f.MediaType())
		h.Set("Content-Disposition", `attachment; filename="`+t.String()+"-"+f.FileName()+`"`)
		if req.r.Method == http.MethodHead {
			return nil
		}
		if err := export.Write(req.r.Context(), req.w, f, parts, export.Options{Version: req.Version}); err != nil {
			req.Logger.WarnContext(req.r.Context(), "an export broke off", "error", err)
			panic(http.ErrAbortHandler) // which is how whoever reads it learns that it is not whole
		}
		return nil
	}
}
