package agent

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/redoubt/redoubt/api"
)

// answer writes a JSON response.
func answer(w http.ResponseWriter, v any) error {
	return answerAs(w, http.StatusOK, "application/json", v)
}

func answerAs(w http.ResponseWriter, status int, media string, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes()) // write errors mean that the client disconnected
	return nil
}

func write(w http.ResponseWriter, media string, text []byte) error {
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(text) // write errors mean that the client disconnected
	return nil
}

// refuse writes an error response that is specific to this protocol. Its text is shown to the
// scanner's user.
func refuse(w http.ResponseWriter, status int, code, text string) error {
	return answerAs(w, status, "application/problem+json", api.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: text, Message: text,
		Errors: []api.FieldError{}, RequestID: w.Header().Get("X-Request-Id"),
	})
}
