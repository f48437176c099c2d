"""The authorization table: what everybody is answered, by route, method and state, by hand.

A heading names methods, a path and the function that serves them. A row below it names a state of
the job or, on a path without an id, one of BODIES (`-`: no body), then an answer for each caller; a
single answer is for all of them. An answer is a status, or the code of a refusal where one status
has several; `=` after a status says that a POST changes nothing. A new route is a new block. An id
that is none is 404 for everybody, a method that no heading names is 405.
"""

TABLE = """
              none empty junk revoked expired prodA prodB workA workB notype admin

POST /jobs enqueue
    -         401  401   403  403     403     422   422   403   403   403    422
    email     401  401   403  403     403     201   201   403   403   403    201
    pdf       401  401   403  403     403     403   201   403   403   403    201
    high      401  401   403  403     403     201   priority-not-allowed 403 403 403 201
    off-list  401  401   403  403     403     422   422   403   403   403    422
    known     401  401   403  403     403     200=  201   403   403   403    201
    no-object 401  401   403  403     403     422   422   403   403   403    422
GET|HEAD /jobs list
    -         401  401   403  403     403     200   200   200   200   200    200

POST /jobs/batch enqueue
    -         401  401   403  403     403     422   422   403   403   403    422
    each      401  401   403  403     403     200   200   403   403   403    200
    no-object 401  401   403  403     403     422   422   403   403   403    422

POST /jobs/claim claim
    -         401  401   403  403     403     403   403   200   200   200    200
    many      401  401   403  403     403     403   403   200   200   200    200
    email     401  401   403  403     403     403   403   200   200   403    200
    pdf       401  401   403  403     403     403   403   403   200   200    200
    sync      401  401   403  403     403     403   403   403   200   403    200
    off-list  401  401   403  403     403     403   403   422   422   422    422
    no-object 401  401   403  403     403     403   403   422   422   422    422

POST /jobs/redrive operate
    -         401  401   403  403     403     403   403   403   403   403    422
    failed    401  401   403  403     403     403   403   403   403   403    200
    cancelled 401  401   403  403     403     403   403   403   403   403    200
    all       401  401   403  403     403     403   403   403   403   403    200
    counted   401  401   403  403     403     403   403   403   403   403    200=
    off-list  401  401   403  403     403     403   403   403   403   403    422
    no-object 401  401   403  403     403     403   403   403   403   403    422

GET|HEAD /jobs/{id} get
    absent    401  401   403  403     403     404   404   404   404   404    404
    pending   401  401   403  403     403     200   404   200   200   404    200
    delayed   401  401   403  403     403     200   404   200   200   404    200
    lapsed    401  401   403  403     403     200   404   200   200   404    200
    redriven  401  401   403  403     403     200   404   200   200   404    200
    running   401  401   403  403     403     200   404   200   200   404    200
    overdue   401  401   403  403     403     200   404   200   200   404    200
    asked     401  401   403  403     403     200   404   200   200   404    200
    held      401  401   403  403     403     200   404   200   200   404    200
    completed 401  401   403  403     403     200   404   200   200   404    200
    failed    401  401   403  403     403     200   404   200   200   404    200
    cancelled 401  401   403  403     403     200   404   200   200   404    200

GET|HEAD /jobs/{id}/attempts get
    absent    401  401   403  403     403     404   404   404   404   404    404
    pending   401  401   403  403     403     200   404   200   200   404    200
    delayed   401  401   403  403     403     200   404   200   200   404    200
    lapsed    401  401   403  403     403     200   404   200   200   404    200
    redriven  401  401   403  403     403     200   404   200   200   404    200
    running   401  401   403  403     403     200   404   200   200   404    200
    overdue   401  401   403  403     403     200   404   200   200   404    200
    asked     401  401   403  403     403     200   404   200   200   404    200
    held      401  401   403  403     403     200   404   200   200   404    200
    completed 401  401   403  403     403     200   404   200   200   404    200
    failed    401  401   403  403     403     200   404   200   200   404    200
    cancelled 401  401   403  403     403     200   404   200   200   404    200

POST /jobs/{id}/complete complete
    absent    401  401   403  403     403     403   403   409        409       409    409
    pending   401  401   403  403     403     403   403   409        409       409    409
    delayed   401  401   403  403     403     403   403   409        409       409    409
    lapsed    401  401   403  403     403     403   403   200        409       409    409
    redriven  401  401   403  403     403     403   403   409        409       409    409
    running   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    overdue   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    asked     401  401   403  403     403     403   403   200        not-owner 409    not-owner
    held      401  401   403  403     403     403   403   not-owner  not-owner 409    200
    completed 401  401   403  403     403     403   403   200=       409       409    409
    failed    401  401   403  403     403     403   403   already-reported 409 409    409
    cancelled 401  401   403  403     403     403   403   409        409       409    409

POST /jobs/{id}/fail fail
    absent    401  401   403  403     403     403   403   409        409       409    409
    pending   401  401   403  403     403     403   403   409        409       409    409
    delayed   401  401   403  403     403     403   403   409        409       409    409
    lapsed    401  401   403  403     403     403   403   lease-lost 409       409    409
    redriven  401  401   403  403     403     403   403   409        409       409    409
    running   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    overdue   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    asked     401  401   403  403     403     403   403   200        not-owner 409    not-owner
    held      401  401   403  403     403     403   403   not-owner  not-owner 409    200
    completed 401  401   403  403     403     403   403   already-reported 409 409    409
    failed    401  401   403  403     403     403   403   200=       409       409    409
    cancelled 401  401   403  403     403     403   403   409        409       409    409

POST /jobs/{id}/heartbeat complete
    absent    401  401   403  403     403     403   403   409        409       409    409
    pending   401  401   403  403     403     403   403   409        409       409    409
    delayed   401  401   403  403     403     403   403   409        409       409    409
    lapsed    401  401   403  403     403     403   403   lease-lost 409       409    409
    redriven  401  401   403  403     403     403   403   409        409       409    409
    running   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    overdue   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    asked     401  401   403  403     403     403   403   200        not-owner 409    not-owner
    held      401  401   403  403     403     403   403   not-owner  not-owner 409    200
    completed 401  401   403  403     403     403   403   already-reported 409 409    409
    failed    401  401   403  403     403     403   403   already-reported 409 409    409
    cancelled 401  401   403  403     403     403   403   409        409       409    409

POST /jobs/{id}/release fail
    absent    401  401   403  403     403     403   403   409        409       409    409
    pending   401  401   403  403     403     403   403   409        409       409    409
    delayed   401  401   403  403     403     403   403   409        409       409    409
    lapsed    401  401   403  403     403     403   403   lease-lost 409       409    409
    redriven  401  401   403  403     403     403   403   409        409       409    409
    running   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    overdue   401  401   403  403     403     403   403   200        not-owner 409    not-owner
    asked     401  401   403  403     403     403   403   200        not-owner 409    not-owner
    held      401  401   403  403     403     403   403   not-owner  not-owner 409    200
    completed 401  401   403  403     403     403   403   already-reported 409 409    409
    failed    401  401   403  403     403     403   403   already-reported 409 409    409
    cancelled 401  401   403  403     403     403   403   409        409       409    409

POST /jobs/{id}/cancel operate
    absent    401  401   403  403     403     404   404   403   403   403    404
    pending   401  401   403  403     403     200   404   403   403   403    200
    delayed   401  401   403  403     403     200   404   403   403   403    200
    lapsed    401  401   403  403     403     200   404   403   403   403    200
    redriven  401  401   403  403     403     200   404   403   403   403    200
    running   401  401   403  403     403     202   404   403   403   403    202
    overdue   401  401   403  403     403     200   404   403   403   403    200
    asked     401  401   403  403     403     202=  404   403   403   403    202=
    held      401  401   403  403     403     202   404   403   403   403    202
    completed 401  401   403  403     403     409   404   403   403   403    409
    failed    401  401   403  403     403     409   404   403   403   403    409
    cancelled 401  401   403  403     403     200=  404   403   403   403    200=

POST /jobs/{id}/redrive operate
    absent    401  401   403  403     403     403   403   403   403   403    404
    pending   401  401   403  403     403     403   403   403   403   403    409
    delayed   401  401   403  403     403     403   403   403   403   403    409
    lapsed    401  401   403  403     403     403   403   403   403   403    409
    redriven  401  401   403  403     403     403   403   403   403   403    200=
    running   401  401   403  403     403     403   403   403   403   403    409
    overdue   401  401   403  403     403     403   403   403   403   403    409
    asked     401  401   403  403     403     403   403   403   403   403    409
    held      401  401   403  403     403     403   403   403   403   403    409
    completed 401  401   403  403     403     403   403   403   403   403    409
    failed    401  401   403  403     403     403   403   403   403   403    200
    cancelled 401  401   403  403     403     403   403   403   403   403    200

GET|HEAD /stats list
    -         401  401   403  403     403     403   403   200   200   200    200
GET|HEAD /whoami list
    -         401  401   403  403     403     200   200   200   200   200    200
GET|HEAD /health open
    -         200
GET|HEAD /openapi.json open
    -         200
"""
REFUSALS = {
    "unauthorized": 401,
    "forbidden": 403,
    "priority-not-allowed": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "conflict": 409,
    "not-owner": 409,
    "lease-lost": 409,
    "already-reported": 409,
    "validation-failed": 422,
}
"""The codes with their statuses; a plain number in the table means the first code that has it."""
