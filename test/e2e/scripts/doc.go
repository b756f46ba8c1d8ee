// Package scripts runs the scripts in testdata/script. Each script is a command line session with
// the built program. TestScripts describes the commands of scripts.
package scripts
