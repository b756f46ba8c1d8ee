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

// maxLine limits the bytes of one message on standard input.
const maxLine = 16 << 20

// Stdio returns a transport with one message per line. The SDK closes a connection on an invalid
// line; this transport responds with an error and reads the next line.
func Stdio(in io.Reader, out io.Writer) sdk.Transport {
	read, write := io.Pipe()
	answers := &lineWriter{to: out}
	s := &sieve{in: bufio.NewReaderSize(in, 64<<10), messages: write, answers: answers}
	go func() { _ = write.CloseWithError(s.run()) }()
	return &sdk.IOTransport{Reader: read, Writer: answers, MaxLineLength: -1} // the limit is enforced here
}

// lineWriter writes whole lines of concurrent writers.
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

// Close does nothing: the program ends.
func (*lineWriter) Close() error { return nil }

// sieve forwards messages and responds to invalid lines.
type sieve struct {
	in       *bufio.Reader
	messages io.Writer
	answers  io.Writer
}

func (s *sieve) run() error {
	for {
		line, complete, err := s.line()
		if len(line) > 0 || !complete {
			if failed := s.forward(line, complete); failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
	}
}

// line reads the next line. A line that is too long is dropped, and complete is false.
func (s *sieve) line() (line []byte, complete bool, err error) {
	complete = true
	for {
		part, err := s.in.ReadSlice('\n')
		if complete = complete && len(line)+len(part) <= maxLine; complete {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), complete, err
		}
	}
}

// forward forwards the messages of a line. Messages of a batch, which newer protocols do not have,
// are forwarded one by one.
func (s *sieve) forward(line []byte, complete bool) error {
	switch {
	case !complete:
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
		return s.refuse(jsonrpc.CodeInvalidRequest, "Invalid Request: not a JSON-RPC message")
	}
	_, err := s.messages.Write(append(bytes.Clone(message), '\n'))
	return err
}

// refuse responds to an invalid line, without a request id.
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
