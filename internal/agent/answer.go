package agent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"

	"github.com/redoubt/redoubt/api"
)

// answer writes JSON.
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
	_, _ = w.Write(buf.Bytes()) // a lost connection has nobody to tell
	return nil
}

func write(w http.ResponseWriter, media string, text []byte) error {
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(text) // a lost connection has nobody to tell
	return nil
}

// refuse answers with an error that is this protocol's own; its text is shown
// to the scanner's user.
func refuse(w http.ResponseWriter, status int, code, text string) error {
	return answerAs(w, status, "application/problem+json", api.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: text, Message: text,
		Errors: []api.FieldError{}, RequestID: w.Header().Get("X-Request-Id"),
	})
}

// network is the address of a caller, or, where one caller has many, the
// network that they are from: what rates are counted by.
func network(address string) string {
	at, err := netip.ParseAddr(address)
	if err != nil || at.Is4() || at.Is4In6() {
		return address
	}
	prefix, err := at.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}
