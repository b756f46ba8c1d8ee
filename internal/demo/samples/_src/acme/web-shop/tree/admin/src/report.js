'use strict';

const _ = require('lodash');
const marked = require('marked');

/** Renders a sales report from a template that an editor wrote. */
exports.render = function (template, rows) {
  return marked(_.template(template)({ rows }));
};

exports.run = function (source) {
  return new Function('rows', source);
};
