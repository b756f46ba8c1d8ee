// Package gate checks the permission for an upload, compares it to the previous one, and evaluates
// whether it fails the build. It also limits the projects and policies that a token can read. It
// works within a transaction and does not depend on HTTP.
package gate
