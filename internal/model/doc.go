// Package model defines the domain types that several packages share, such as deployments,
// projects, scans, rules, findings and policies. Types provide their wire names and validate values
// with Check methods. The package imports only the standard library, and docs/reference defines the
// behavior.
package model
