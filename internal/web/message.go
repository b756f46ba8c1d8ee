package web

// message is what a page says about what was just done. Its code is in the
// address that led to the page and in data-say, for tests and scripts: the
// wording may change.
type message struct{ Code, Text string }

// doneMessage returns the message of a code, nil where it has none.
func doneMessage(of map[string]string, code string) *message {
	text, ok := of[code]
	if !ok {
		return nil
	}
	return &message{Code: code, Text: text}
}
