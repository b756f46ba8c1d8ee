package reporttest

import (
	"bytes"
	"compress/gzip"
	"mime/multipart"
	"testing"
)

// Gzip returns the compressed text.
func Gzip(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(text)
	if closed := z.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Form returns a multipart form and its media type. parts alternates names and values. A name with
// the prefix @ is a file name.
func Form(t testing.TB, parts ...string) (body, media string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i+1 < len(parts); i += 2 {
		var err error
		if name := parts[i]; name[0] == '@' {
			part, createErr := w.CreateFormFile("file", name[1:])
			if err = createErr; err == nil {
				_, err = part.Write([]byte(parts[i+1]))
			}
		} else {
			err = w.WriteField(name, parts[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}
