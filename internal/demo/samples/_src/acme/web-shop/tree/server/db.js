'use strict';

/** Runs one statement; rows come back as objects. */
exports.query = async function (sql, values) {
  const { Pool } = require('./pool');
  return Pool.shared.run(sql, values);
};
