package server

import (
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// document is an answer that is a file.
type document struct {
	name, mediaType string
	content         []byte
}

func (d document) header(h http.Header) {
	h.Set("Content-Type", d.mediaType)
	h.Set("Content-Disposition", `attachment; filename="`+d.name+`"`)
}

// WriteTo writes the document.
func (d document) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(d.content)
	return int64(n), err
}

// fileContent describes a file in an answer: an object where its media type is of
// JSON, which clients decode, and bytes otherwise.
func fileContent(mediaType string) *huma.MediaType {
	if isJSON(mediaType) {
		return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}}
	}
	return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
}
