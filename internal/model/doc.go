// Package model has the types of the domain that several packages share: deployments, projects, scans, rules,
// findings, policies, dependencies, reports, and the small enumerations that classify them. A type has its members,
// the names of its values in the Web API, and Check, which names what is wrong with a value. It imports the standard
// library only: no SQL, no HTTP, no clock.
//
// docs/reference defines the behavior; comments name its pages. Other programs build on package api; the names here
// change without notice.
package model
