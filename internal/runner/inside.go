package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
)

// Inside runs in the sandbox of a runner. It forwards connections from a local port to the socket
// of the runner, starts the program, and returns its exit code. The argument environment returns
// the program's environment for the URL of that port.
func Inside(
	ctx context.Context, socket string, program []string, environment func(url string) []string, out, stderr io.Writer,
) (code int, err error) {
	if err := errors.Join(bound(), boundThreads()); err != nil {
		return 0, fmt.Errorf("limits cannot be set: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	go forward(ctx, listener, socket)
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = environment("http://"+listener.Addr().String()), out, stderr, killWait
	err = cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		err = nil
	}
	if cmd.ProcessState == nil {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), err
}

// forward connects each accepted connection to the socket.
func forward(ctx context.Context, listener net.Listener, socket string) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = in.Close() }()
			out, err := new(net.Dialer).DialContext(ctx, "unix", socket)
			if err != nil {
				fmt.Fprintln(os.Stderr, "redoubt: the connection out of the sandbox failed:", err)
				return
			}
			defer func() { _ = out.Close() }()
			var both sync.WaitGroup
			both.Go(func() {
				_, _ = io.Copy(out, in) // a broken connection ends both directions
				if c, ok := out.(*net.UnixConn); ok {
					_ = c.CloseWrite()
				}
			})
			both.Go(func() {
				_, _ = io.Copy(in, out)
				if c, ok := in.(*net.TCPConn); ok {
					_ = c.CloseWrite()
				}
			})
			both.Wait()
		}()
	}
}
