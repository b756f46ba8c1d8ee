//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package index

// hold does nothing where there are no locks that end with their process.
func hold(string) (letGo func()) { return func() {} }

// isAbandoned does not know.
func isAbandoned(string) (abandoned, known bool) { return false, false }
