package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message on standard input, in bytes.
const maxLine = 16 << 20

// Stdio carries messages a line each. The SDK ends a connection over a line that is no
// message; here such a line is answered with an error and the next one is read.
func Stdio(in io.Reader, out io.Writer) sdk.Transport {
	read, write := io.Pipe()
	answers := &lineWriter{to: out}
	s := &sieve{in: bufio.NewReaderSize(in, 64<<10), messages: write, answers: answers}
	go func() { _ = write.CloseWithError(s.run()) }()
	return &sdk.IOTransport{Reader: read, Writer: answers, MaxLineLength: -1} // each is bounded here
}

// lineWriter writes whole lines, of whoever answers.
type lineWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes one message.
func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(line)
}

// Close closes nothing: the program ends.
func (*lineWriter) Close() error { return nil }

// sieve hands messages on, and answers what is none.
type sieve struct {
	in       *bufio.Reader
	messages io.Writer
	answers  io.Writer
}

func (s *sieve) run() error {
	for {
		line, whole, err := s.line()
		if len(line) > 0 || !whole {
			if failed := s.take(line, whole); failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
	}
}

// line reads up to the next end of a line. Of one that is too long it keeps nothing.
func (s *sieve) line() (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := s.in.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxLine; whole {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), whole, err
		}
	}
}

// take hands on what a line has, a message each: those of a list one by one, which the
// newer protocols have no more.
func (s *sieve) take(line []byte, whole bool) error {
	switch {
	case !whole:
		return s.refuse(jsonrpc.CodeParseError, "Parse error: the line is longer than 16 MiB")
	case !json.Valid(line):
		return s.refuse(jsonrpc.CodeParseError, "Parse error: the line is not one JSON value")
	}
	messages := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &messages); err != nil || len(messages) == 0 {
			return s.refuse(jsonrpc.CodeInvalidRequest, "Invalid Request: the list has no message")
		}
	}
	for _, m := range messages {
		err := s.pass(m)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sieve) pass(message []byte) error {
	if _, err := jsonrpc.DecodeMessage(message); err != nil {
		return s.refuse(jsonrpc.CodeInvalidRequest, "Invalid Request: this is no JSON-RPC message")
	}
	_, err := s.messages.Write(append(bytes.Clone(message), '\n'))
	return err
}

// refuse answers a line of which nobody knows which request it was.
func (s *sieve) refuse(code int64, text string) error {
	type fault struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	line, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      *int   `json:"id"`
		Error   fault  `json:"error"`
	}{"2.0", nil, fault{code, text}})
	if err == nil {
		_, err = s.answers.Write(append(line, '\n'))
	}
	return err
}
