package core

import (
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Document is a response that is a file.
type Document struct {
	Name, MediaType string
	Content         []byte
}

// Header sets the media type and the file name.
func (d Document) Header(h http.Header) {
	h.Set("Content-Type", d.MediaType)
	h.Set("Content-Disposition", `attachment; filename="`+d.Name+`"`)
}

// WriteTo implements io.WriterTo.
func (d Document) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(d.Content)
	return int64(n), err
}

// fileContent documents a file in a response: an object for JSON media types, which clients decode,
// otherwise bytes.
func fileContent(mediaType string) *huma.MediaType {
	if isJSON(mediaType) {
		return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}}
	}
	return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
}
