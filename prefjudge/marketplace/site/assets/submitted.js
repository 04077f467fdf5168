"use strict";
// The page around this frame goes on to the next one.
if (parent !== window) parent.postMessage({ prefjudge: "submitted" }, "*");
