package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lenient returns a middleware that converts the arguments of a tool to the form of its input. It
// runs before the SDK validates them by the schema, which permits one form only.
func lenient(tool string, input reflect.Type) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if call, ok := r.(*sdk.CallToolRequest); ok && call.Params != nil && call.Params.Name == tool {
				call.Params.Arguments = formed(call.Params.Arguments, input)
			}
			return next(ctx, method, r)
		}
	}
}

// formed converts arguments to the form of the input. A member may have the alternative name in the
// tag "also" of its field. Other values are left unchanged, and rejected by the schema.
func formed(arguments json.RawMessage, input reflect.Type) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil {
		return arguments
	}
	for _, field := range reflect.VisibleFields(input) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if other := field.Tag.Get("also"); other != "" && members[name] == nil && members[other] != nil {
			members[name] = members[other]
			delete(members, other)
		}
		if value := members[name]; value != nil {
			members[name] = formedValue(value, field.Type)
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		return arguments
	}
	return out
}

// formedValue converts a value to the form of a type. A single value becomes a list, a list of one
// value becomes that value, and text becomes the number whose JSON it is.
func formedValue(value json.RawMessage, form reflect.Type) json.RawMessage {
	if string(value) == "null" {
		return value
	}
	var list []json.RawMessage
	isList := json.Unmarshal(value, &list) == nil
	if form.Kind() == reflect.Slice {
		if !isList {
			list = []json.RawMessage{value}
		}
		for i := range list {
			list[i] = formedValue(list[i], form.Elem())
		}
		if formed, err := json.Marshal(list); err == nil {
			return formed
		}
		return value
	}
	if isList && len(list) == 1 {
		value = list[0]
	}
	if form.Kind() == reflect.Int64 {
		text := bytes.Trim(value, `"`)
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && strconv.FormatInt(n, 10) == string(text) {
			value = text
		}
	}
	return value
}
