package ui

// Message is the notice about a completed action. Its code is part of the page's address and of
// data-say. Tests and scripts use the code, as the text may change.
type Message struct{ Code, Text string }

// DoneMessage returns the message of a code, or nil if the code is unknown.
func DoneMessage(of map[string]string, code string) *Message {
	text, ok := of[code]
	if !ok {
		return nil
	}
	return &Message{Code: code, Text: text}
}
