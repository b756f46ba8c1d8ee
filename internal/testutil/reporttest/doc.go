// Package reporttest contains shared helpers for the tests of report and of its readers:
// invariants, golden files, and inputs. Only tests import it.
package reporttest
