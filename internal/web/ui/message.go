package ui

// Message is what a page says about what was just done. Its code is in the
// address that led to the page and in data-say, for tests and scripts: the
// wording may change.
type Message struct{ Code, Text string }

// DoneMessage returns the message of a code, nil where it has none.
func DoneMessage(of map[string]string, code string) *Message {
	text, ok := of[code]
	if !ok {
		return nil
	}
	return &Message{Code: code, Text: text}
}
