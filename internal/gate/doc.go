// Package gate decides about uploads: whether a token may store a scan in a project, whether an
// upload is identical to the previous one, and whether its findings fail the build. It also limits
// the projects and policies that a token can read. It works within a transaction and knows no HTTP.
package gate
